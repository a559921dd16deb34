import {
  createSealedPages,
  type PagePosition,
  type PageScope,
  type SealedPages,
} from '../../shared/http/page-token.ts';
import { BadRequest } from '../requests.ts';

export interface PageTokens extends Pick<SealedPages, 'seal'> {
  /** Throws `BadRequest` for what was altered, made elsewhere, or for another search. */
  open(token: string, scope: PageScope): Promise<PagePosition>;
}

/**
 * Page tokens of searches.
 *
 * @param secret The private part of the PDP's signing key.
 */
export function createPageTokens(secret: string): PageTokens {
  const pages = createSealedPages(secret, 'countersign pdp search page');
  return {
    seal: (position, scope) => pages.seal(position, scope),
    async open(token, scope) {
      const position = await pages.open(token, scope);
      if (position !== undefined) return position;
      throw new BadRequest('page.token is none of this search: repeat the first request unchanged, or begin again');
    },
  };
}
