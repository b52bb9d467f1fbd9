// An identity provider that can be told to misbehave, to test attacks. It signs in everybody without a prompt.
// POST /fault sets the fault of the next responses, as JSON: `claims` replace claims of the ID token (null removes
// one), `key: "other"` signs with an unpublished key, `answer` replaces parameters of the redirect, `issuer` replaces
// the issuer in the metadata.
import { createServer } from 'node:http';
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const keys = { own: generateKeyPairSync('ec', { namedCurve: 'P-256' }), other: generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
const encode = (value) => Buffer.from(value).toString('base64url');
const codes = new Map();
let fault = {};

const body = async (request) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
};

const idToken = (issuer, nonce) => {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, sub: 'mallory', aud: 'guildhall', iat: now, exp: now + 60, nonce, ...fault.claims };
  for (const name of Object.keys(claims)) if (claims[name] === null) delete claims[name];
  const text = `${encode(JSON.stringify({ alg: 'ES256', kid: 'k' }))}.${encode(JSON.stringify(claims))}`;
  const key = { key: keys[fault.key ?? 'own'].privateKey, dsaEncoding: 'ieee-p1363' };
  return `${text}.${encode(sign('sha256', Buffer.from(text), key))}`;
};

const server = createServer(async (request, response) => {
  const issuer = `http://localhost:${server.address().port}`;
  const url = new URL(request.url, issuer);
  const json = (value, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  switch (url.pathname) {
    case '/.well-known/openid-configuration':
      return json({
        issuer: fault.issuer ?? issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        authorization_response_iss_parameter_supported: true,
      });
    case '/jwks':
      return json({ keys: [{ ...keys.own.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'ES256' }] });
    case '/authorize': {
      const params = url.searchParams;
      const code = randomBytes(16).toString('hex');
      codes.set(code, { nonce: params.get('nonce'), challenge: params.get('code_challenge') });
      const redirect = new URL(params.get('redirect_uri'));
      const query = { code, state: params.get('state'), iss: issuer, ...fault.answer };
      for (const [name, value] of Object.entries(query)) if (value !== null) redirect.searchParams.set(name, value);
      return response.writeHead(303, { location: redirect.href }).end();
    }
    case '/token': {
      const params = new URLSearchParams(await body(request));
      const issued = codes.get(params.get('code'));
      codes.delete(params.get('code'));
      const challenge = createHash('sha256').update(params.get('code_verifier') ?? '').digest('base64url');
      if (issued?.challenge !== challenge) return json({ error: 'invalid_grant' }, 400);
      return json({ token_type: 'Bearer', access_token: 'unused', id_token: idToken(issuer, issued.nonce) });
    }
    case '/fault':
      fault = JSON.parse(await body(request));
      return json({});
    default:
      return json({}, 404);
  }
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ issuer: `http://localhost:${server.address().port}` })));
