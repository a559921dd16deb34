import * as z from 'zod';
import type { Action, Resource, Subject } from '../../../workflows/domain/authzen/evaluation.ts';
import { canonicalJson } from '../../../workflows/domain/canonical-json.ts';
import { CountersignError } from '../../../workflows/domain/errors.ts';
import { shownText } from '../../../workflows/domain/submission-input/form-field.ts';
import { formatPath, problemsOf } from '../../shared/config/problems.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { matches } from '../access-requests/clients.ts';

const MAX_SHOWN = 200;
const MAX_DESCRIPTION = 500;

/** A text that a form can show unchanged: without hidden characters and addresses. */
const shown = z
  .string()
  .min(1)
  .refine(
    (text) => shownText(text, MAX_SHOWN) === text,
    `at most ${MAX_SHOWN} characters on one line, without hidden characters and addresses`,
  );
const patterns = z.array(z.string().min(1)).optional();

const item = z.strictObject({
  value: shown,
  label: shown,
  description: z.string().max(MAX_DESCRIPTION).optional(),
  risk_level: z.string().min(1).max(100).optional(),
  owner: z.string().min(1).max(MAX_SHOWN).optional(),
  /** `false` retires the item: it is not shown and cannot be requested. */
  requestable: z.boolean().default(true),
  /** The item exists only where all these parameters have these values. */
  scope: z.record(z.string().min(1), z.string().min(1)).default({}),
  /** Who can see it for what, by ids or prefixes with `*`. An absent member restricts nothing. */
  visible: z
    .strictObject({
      subjects: patterns,
      groups: z.array(z.string().min(1)).optional(),
      resources: patterns,
      actions: patterns,
    })
    .prefault({}),
});

/** One selectable item. @see ARAP, Catalog Response */
export type CatalogItem = z.infer<typeof item>;

/** The denied evaluation, which decides the visibility of items. */
export interface DeniedEvaluation {
  readonly subject: Subject;
  readonly action: Action;
  readonly resource: Resource;
}

export interface ItemQuery {
  readonly asked: DeniedEvaluation;
  /** Value of a scope parameter, if it has one yet. */
  readonly scope: (parameter: string) => string | undefined;
}

/** Reads a catalog file. Throws `ERR_CONFIG_INVALID` with the first ten faults. */
export function readItems(text: string, file: string): readonly CatalogItem[] {
  const items = z.array(item).safeParse(parse(text, file));
  if (!items.success) {
    const lines = problemsOf(items.error).map(({ path, message }) => `${file}: ${formatPath(path)}: ${message}`);
    throw invalid(lines.slice(0, 10).join('\n'));
  }
  const known = new Set<string>();
  for (const { value, scope } of items.data) {
    const key = canonicalJson([value, scope]);
    if (known.has(key)) throw invalid(`${file}: ${JSON.stringify(value)} appears twice for one scope; remove one`);
    known.add(key);
  }
  return items.data.sort((a, b) => (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1));
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(`${file}: not valid JSON`, cause);
  }
}

const invalid = (message: string, cause?: unknown) => new CountersignError('ERR_CONFIG_INVALID', message, { cause });

/** The sort key of an item. It does not depend on the other items. */
export const sortKeyOf = ({ label, value }: CatalogItem): string => `${label}\u0000${value}`;

/**
 * The requestable items, by value: the only rule of visibility. Every restriction of an item must be met; an unknown value meets none.
 * @see ARAP, ARS Rules (ARAP-CAT-08, ARAP-CAT-09)
 */
export function visibleItems(
  items: readonly CatalogItem[],
  query: ItemQuery,
  directory: Directory,
): Map<string, CatalogItem> {
  const found = new Map<string, CatalogItem>();
  for (const one of items) {
    if (!found.has(one.value) && isVisible(one, query, directory)) found.set(one.value, one);
  }
  return found;
}

function isVisible({ requestable, scope, visible }: CatalogItem, query: ItemQuery, directory: Directory): boolean {
  const { subject, action, resource } = query.asked;
  return (
    requestable &&
    Object.entries(scope).every(([parameter, value]) => query.scope(parameter) === value) &&
    matches(visible.resources, resource.id) &&
    matches(visible.actions, action.name) &&
    isForSubject(visible, subject.id, directory)
  );
}

function isForSubject({ subjects, groups }: CatalogItem['visible'], subject: string, directory: Directory): boolean {
  if (subjects === undefined && groups === undefined) return true;
  if (subjects !== undefined && matches(subjects, subject)) return true;
  const person = directory.find(subject);
  return person?.isActive === true && (groups ?? []).some((one) => person.groups.has(one));
}
