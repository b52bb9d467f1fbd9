// A real identity provider for tests: oidc-provider on a free loopback port. It accepts every login name.
// Argument, as JSON: redirectUris. Prints its issuer URL as one line of JSON.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const { redirectUris } = JSON.parse(process.argv[2]);
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  // A different site than the server's 127.0.0.1, as in production: cookies must survive the redirects.
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'guildhall',
        client_secret: 'known only to tests & to the server',
        redirect_uris: redirectUris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    pkce: { methods: ['S256'], required: () => true },
    claims: { openid: ['sub'], profile: ['name'] },
    conformIdTokenClaims: false,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, name: `Name of ${id}` }) }),
    cookies: { keys: ['known only to tests'] },
  });
  server.on('request', provider.callback());
  console.log(JSON.stringify({ issuer }));
});
