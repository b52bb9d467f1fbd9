// A provider that lies when it is told to: the twin of a real one, with which attacks are tried.
// It lets everybody in without asking. POST /fault sets what is wrong with the next answers, as JSON: `claims` replace
// those of the ID token (null leaves one out), `key: "other"` signs with a key that is not published, `answer` replaces
// parameters of the way back.
import { createServer } from 'node:http';
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const keys = { own: generateKeyPairSync('ec', { namedCurve: 'P-256' }), other: generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
const encode = (value) => Buffer.from(value).toString('base64url');
const codes = new Map();
let fault = {};

const body = async (request) => {
  let text = '';
  for await (const piece of request) text += piece;
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
      const asked = url.searchParams;
      const code = randomBytes(16).toString('hex');
      codes.set(code, { nonce: asked.get('nonce'), challenge: asked.get('code_challenge') });
      const back = new URL(asked.get('redirect_uri'));
      const answer = { code, state: asked.get('state'), iss: issuer, ...fault.answer };
      for (const [name, value] of Object.entries(answer)) if (value !== null) back.searchParams.set(name, value);
      return response.writeHead(303, { location: back.href }).end();
    }
    case '/token': {
      const asked = new URLSearchParams(await body(request));
      const kept = codes.get(asked.get('code'));
      codes.delete(asked.get('code'));
      const challenge = createHash('sha256').update(asked.get('code_verifier') ?? '').digest('base64url');
      if (kept?.challenge !== challenge) return json({ error: 'invalid_grant' }, 400);
      return json({ token_type: 'Bearer', access_token: 'unused', id_token: idToken(issuer, kept.nonce) });
    }
    case '/fault':
      fault = JSON.parse(await body(request));
      return json({});
    default:
      return json({}, 404);
  }
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ issuer: `http://localhost:${server.address().port}` })));
