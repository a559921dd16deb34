/** A browser: keeps cookies and does not follow redirects by itself. */
export class Browser {
  readonly #cookies = new Map<string, string>();
  readonly #home: string;

  /** @param home Site whose redirects are followed. */
  constructor(home: string) {
    this.#home = home;
  }

  /** Names of the cookies that it has. */
  get cookieNames(): string[] {
    return [...this.#cookies.keys()];
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name);
  }

  /** Its cookies, as a real browser takes them over. */
  cookies(): { name: string; value: string; url: string }[] {
    return [...this.#cookies].map(([name, value]) => ({ name, value, url: this.#home }));
  }

  async go(
    url: string,
    form?: Record<string, string> | URLSearchParams,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(url, this.#home), {
      redirect: 'manual',
      headers: { cookie, accept: 'text/html', ...headers },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';');
      const at = pair.indexOf('=');
      const expires = attributes.find((one) => /^ *expires=/i.test(one))?.split('=')[1];
      const isOver = expires !== undefined && Date.parse(expires) <= Date.now();
      if (isOver) this.#cookies.delete(pair.slice(0, at));
      else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  /** Follows redirects until one leads to another site, or to a page. */
  async follow(response: Response): Promise<Response> {
    const location = response.headers.get('location');
    if (location === null || new URL(location, this.#home).origin !== this.#home) return response;
    return this.follow(await this.go(location));
  }
}
