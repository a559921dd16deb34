/** The token that the forms of a page have to send; empty when there is none. */
export const csrfTokenIn = (page: string): string => /name="csrfToken" value="([^"]+)"/.exec(page)?.[1] ?? '';

/** The text of a page, without markup. */
export const wordsOf = (page: string): string => page.replaceAll(/<[^>]*>/g, '');
