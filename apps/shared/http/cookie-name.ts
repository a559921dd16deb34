/**
 * The name of a cookie that no other host can set for this site: browsers take `__Host-` from this host alone, over https,
 * for all of its paths. Over http, as in development, no cookie can have that prefix.
 * @see RFC 6265bis, section 4.1.3.2
 */
export const hostCookieName = (name: string, baseUrl: string): string => (isHttps(baseUrl) ? `__Host-${name}` : name);

export const isHttps = (url: string): boolean => new URL(url).protocol === 'https:';
