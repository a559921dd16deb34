/** The token that the forms of a page have to send; empty when there is none. */
export const csrfTokenIn = (page: string): string => /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';

/** What a page says, without its marks. */
export const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, '');
