/** What a token is needed for. */
export interface TokenRequest {
  /** The token that the server refused just now: return another one. */
  rejected?: string;
}

/** An access token or service key, or a function that returns the current one. */
export type TokenSource = string | ((request: TokenRequest) => string | Promise<string>);

export async function readToken(source: TokenSource, request: TokenRequest = {}): Promise<string> {
  return typeof source === "string" ? source : source(request);
}
