// A receiver that verifies every request with the official library of Standard Webhooks. PUT /secret sets the signing
// secret, GET /received lists what came. Anything else is an event: 204 if it verifies, 401 if not.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const received = [];
let secret;

const read = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

const verify = (body, headers) => {
  try {
    return { verified: true, payload: new Webhook(secret).verify(body, headers) };
  } catch (error) {
    return { verified: false, error: error.message };
  }
};

const server = createServer(async (request, response) => {
  const body = await read(request);
  if (request.method === 'PUT') {
    secret = body;
    return response.writeHead(204).end();
  }
  if (request.method === 'GET') {
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(received));
  }
  const outcome = verify(body, request.headers);
  const signatures = request.headers['webhook-signature'].split(' ').length;
  received.push({ id: request.headers['webhook-id'], signatures, ...outcome });
  response.writeHead(outcome.verified ? 204 : 401).end();
});

server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
