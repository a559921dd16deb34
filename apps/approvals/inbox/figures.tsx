import type { Request, RequestHandler, Response } from 'express';
import * as z from 'zod';
import { OVERSEER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import { csrfTokenOf, Refusal } from '../../shared/http/csrf.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { wantsPage } from '../../shared/pages/refusal-page.tsx';
import { FIGURE_SORTS } from '../figures.ts';
import { isOverseer, visitorOf } from './authenticate.ts';
import { type FigureRange, FiguresPage } from './figures-page.tsx';
import { given } from './paging.tsx';
import type { InboxHttp } from './seat.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
/** A year, with the days at both ends. */
const MAX_DAYS = 367;
const DEFAULT_ROWS = 50;
const MAX_ROWS = 1_000;

/** A day in UTC. Forms send fields that are empty. */
const day = z
  .string()
  .transform((text) => (text === '' ? undefined : text))
  .pipe(z.iso.date().optional())
  .optional();

const query = z.object({
  from: day,
  to: day,
  sort: z.enum(FIGURE_SORTS).default('approved'),
  order: z.enum(['asc', 'desc']).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS),
});

/** `GET /figures`: how people decide, for overseers. */
export function figures({ figures: store, clock }: Pick<InboxHttp, 'figures' | 'clock'>): RequestHandler {
  return async (request: Request, response: Response) => {
    const visitor = visitorOf(response);
    if (!isOverseer(visitor)) throw notAnOverseer();
    const parsed = query.safeParse(request.query);
    if (!parsed.success) throw noSuchFigures();
    const { sort, limit } = parsed.data;
    const order = parsed.data.order ?? (sort === 'name' ? 'asc' : 'desc');
    const range = rangeOf(parsed.data, clock.now());
    // One after the other: other requests use the connections to the database meanwhile.
    const keptSince = await store.keptSince();
    const found = await store.figures({ ...boundsOf(range), sort, order, limit });
    if (!wantsPage(request)) {
      const { tables, ...rest } = found;
      return void response.json({ ...range, keptSince, ...rest, ...tables });
    }
    const person = { name: visitor.name, csrfToken: csrfTokenOf(request) };
    const parameters = given(request, ['from', 'to', 'limit']);
    const props = { found, keptSince, range, sort, order, limit, parameters, visitor, person };
    response.send(renderPage(<FiguresPage {...props} />, clock.now()));
  };
}

const LINK = { href: '/figures', label: 'To the figures of the last 30 days' };

const notAnOverseer = () =>
  new Refusal(
    403,
    'Only overseers see the figures',
    `They are about all approvers. Ask an administrator for the role “${OVERSEER_ROLE}”.`,
    { href: '/requests', label: 'To the requests' },
  );

const noSuchFigures = () =>
  new Refusal(
    400,
    'There are no such figures',
    `from and to are days such as 2026-11-21, at most a year apart. sort is one of ${FIGURE_SORTS.join(', ')}, order is asc or desc, limit is between 1 and ${MAX_ROWS}.`,
    LINK,
  );

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The first and the last day. Without them, the last 30 days. */
function rangeOf({ from, to }: { from?: string | undefined; to?: string | undefined }, now: number): FigureRange {
  const last = to ?? dayOf(now);
  const first = from ?? dayOf(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1 || days > MAX_DAYS) throw noSuchFigures();
  return { from: first, to: last };
}

/** The range has its last day, to the end. */
const boundsOf = ({ from, to }: FigureRange) => ({
  from: new Date(from),
  until: new Date(Date.parse(to) + DAY_MS),
});
