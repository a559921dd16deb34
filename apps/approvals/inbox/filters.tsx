import { EFFECTS } from '../../../workflows/domain/tools/tool-facts.ts';
import { addressOf } from '../../shared/http/list-cursor.ts';
import { visibleTitle } from '../../shared/pages/visible-text.ts';
import type { RequestFilter } from '../listing.ts';
import type { RequestKind } from '../stores/lists.ts';

export const isFiltered = (filter: RequestFilter): boolean => Object.values(filter).some((one) => one !== undefined);

interface FiltersProps {
  readonly kinds: readonly RequestKind[];
  readonly filter: RequestFilter;
  /** Query parameters of the page. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** Search and filters of a list. All of it is in the address, so that a filtered list can be kept or sent. */
export function Filters({ kinds, filter, parameters }: FiltersProps) {
  const { status, order, limit } = parameters;
  const choices = {
    tool: choicesIn(kinds, ({ tool }) => tool, filter.tool),
    agent: choicesIn(kinds, ({ agent }) => agent, filter.agent),
    requester: choicesIn(kinds, ({ requester }) => requester, filter.requester),
    effect: choicesIn(kinds, ({ effect }) => effect, filter.effect).toSorted(byEffect),
  };
  return (
    <form class="list-tools" method="get" action="/requests" role="search" data-filters>
      {Object.entries({ status, order, limit, alike: filter.alike }).map(
        ([name, value]) => value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
      <div class="search">
        <label class="unseen" for="q">
          Search
        </label>
        <input
          type="search"
          id="q"
          name="q"
          value={parameters['q']}
          maxLength={1_024}
          placeholder="Tool, person, agent or argument"
        />
      </div>
      <button class="quiet" type="submit">
        Search
      </button>
      {isFiltered(filter) && (
        <a class="button quiet" href={addressOf('/requests', { status, order })}>
          Show all
        </a>
      )}
      <Choices filter={filter} choices={choices} />
    </form>
  );
}

const CHOSEN_BY = { tool: 'Tool', agent: 'Agent', requester: 'Asked by', effect: 'Effect' } as const;
type ChosenBy = keyof typeof CHOSEN_BY;

/** Folded, because the list comes first. It is unfolded while it narrows the list. */
function Choices({ filter, choices }: Pick<FiltersProps, 'filter'> & { choices: Record<ChosenBy, readonly string[]> }) {
  const names = (Object.keys(CHOSEN_BY) as ChosenBy[]).filter((name) => isOffered(choices[name], filter[name]));
  if (names.length === 0) return null;
  return (
    <details class="folded" open={names.some((name) => filter[name] !== undefined)}>
      <summary>Filters</summary>
      <div class="filters">
        {names.map((name) => (
          <Choice key={name} name={name} label={CHOSEN_BY[name]} values={choices[name]} chosen={filter[name]} />
        ))}
      </div>
    </details>
  );
}

/** Nothing to choose from is not offered. */
const isOffered = (values: readonly string[], chosen: string | undefined) => values.length > 1 || chosen !== undefined;

const byEffect = (a: string, b: string) => EFFECTS.indexOf(a as never) - EFFECTS.indexOf(b as never);

/** The values that requests of the list have, and the chosen one even if none has it any more. */
function choicesIn(
  kinds: readonly RequestKind[],
  valueOf: (kind: RequestKind) => string | null,
  chosen: string | undefined,
): string[] {
  const values = kinds.flatMap((kind) => valueOf(kind) ?? []);
  return [...new Set([...values, ...(chosen === undefined ? [] : [chosen])])].toSorted();
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly chosen: string | undefined;
}

function Choice({ name, label, values, chosen }: ChoiceProps) {
  return (
    <div>
      <label for={`by-${name}`}>{label}</label>
      <select id={`by-${name}`} name={name}>
        <option value="">All</option>
        {values.map((value) => (
          <option key={value} value={value} selected={value === chosen}>
            {visibleTitle(value)}
          </option>
        ))}
      </select>
    </div>
  );
}
