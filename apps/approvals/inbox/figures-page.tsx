import { addressOf } from '../../shared/http/list-cursor.ts';
import { Facts, Instant, Page, type SignedIn } from '../../shared/pages/layout.tsx';
import { Visible } from '../../shared/pages/visible.tsx';
import {
  ALWAYS_AT_LEAST,
  type Figure,
  type FigureKind,
  type FigureQuery,
  type Figures,
  type FigureSort,
  MOST_REQUESTS,
  QUICK_SECONDS,
} from '../figures.ts';
import type { Visitor } from './authenticate.ts';
import { InboxTabs } from './paging.tsx';

/** The first and the last day, in UTC. */
export interface FigureRange {
  readonly from: string;
  readonly to: string;
}

interface FiguresProps extends Pick<FigureQuery, 'sort' | 'order' | 'limit'> {
  readonly found: Figures;
  /** When the oldest request ended that is still kept. */
  readonly keptSince: string | undefined;
  readonly range: FigureRange;
  /** Query parameters of the page, without the sort. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly visitor: Visitor;
  readonly person: SignedIn;
}

const TABLES = [
  ['person', 'By person', 'Person'],
  ['tool', 'By tool', 'Tool'],
  ['rule', 'By rule', 'Rule'],
  ['template', 'By template', 'Template'],
] as const satisfies readonly (readonly [FigureKind, string, string])[];

/** How people decide: by person, by tool, by rule and by template. */
export function FiguresPage(props: FiguresProps) {
  const { found, range, visitor, person } = props;
  return (
    <Page title="Figures" section="Approvals" person={person}>
      <div class="title-row">
        <h1>Figures</h1>
        <InboxTabs current="figures" visitor={visitor} />
      </div>
      <Range {...props} />
      <div class="stack">
        <Extent {...props} />
        <Always {...props} />
        {found.ends.people > 0 || found.tables.person.count > 0 ? (
          TABLES.map(([kind, title, label]) => <Table key={kind} {...props} {...{ kind, title, label }} />)
        ) : (
          <div class="card empty">
            <h2>People decided nothing</h2>
            <p>
              No request on which a person decided ended from {range.from} to {range.to}. Choose other days.
            </p>
          </div>
        )}
      </div>
    </Page>
  );
}

function Range({ range: { from, to }, sort, order, parameters }: FiguresProps) {
  return (
    <form class="filters" method="get" action="/figures" aria-label="Days">
      {Object.entries({ sort, order, limit: parameters['limit'] }).map(
        ([name, value]) => value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
      <div>
        <label for="from">First day</label>
        <input type="date" id="from" name="from" value={from} />
      </div>
      <div>
        <label for="to">Last day</label>
        <input type="date" id="to" name="to" value={to} />
      </div>
      <div class="filters-end">
        <button class="quiet" type="submit">
          Show
        </button>
        <a class="button quiet" href={addressOf('/figures', { sort, order })}>
          Last 30 days
        </a>
      </div>
    </form>
  );
}

function Extent({ found: { ends, first, isCut }, keptSince, range: { from } }: FiguresProps) {
  const isForgotten = keptSince !== undefined && keptSince.slice(0, 10) > from;
  return (
    <section class="card" aria-labelledby="counted">
      <h2 id="counted">Requests that ended</h2>
      <Facts
        rows={[
          ['Decided by people', many(ends.people)],
          ['Decided by programs', `${many(ends.programs)}: grants, automatic resolvers, supervising agents`],
          ['Granted in an emergency', many(ends.emergency)],
          ['Ended undecided', `${many(ends.undecided)}: expired, cancelled, failed`],
        ]}
      />
      {isCut && first !== undefined && (
        <p>
          <strong>Only the latest {many(MOST_REQUESTS)} are counted</strong>, from <Instant at={first} /> on. Choose
          fewer days to count them all.
        </p>
      )}
      <p class="hint">
        Days are those of UTC. Requests are forgotten some time after their end.{' '}
        {keptSince === undefined ? (
          'None is kept now.'
        ) : (
          <>
            The oldest one that is kept ended on <Instant at={keptSince} />
            {isForgotten && ', so the figures of these days begin there'}.
          </>
        )}
      </p>
      <Meaning />
    </section>
  );
}

/** What the columns say, and what they do not say. */
function Meaning() {
  return (
    <details>
      <summary>What the figures mean</summary>
      <ul>
        <li>
          The time is from the opening of a request to the decision. It includes nights and earlier stages. Half of the
          decisions were as fast as the median, and nine of ten as fast as the column after it.
        </li>
        <li>
          “Within {QUICK_SECONDS} s” is about approvals in the inbox by a person who had opened the page of the request.
          The time is from the first drawing of that page for them to the vote, as the service saw both. Five of the
          seconds are those in which the browser lets a person undo a decision. They may have known the call from a
          message or from the list.
        </li>
        <li>
          Approvals by API or webhook, and of several requests together, open no page. They are not in that column.
        </li>
        <li>
          By person, each vote counts for the person who cast it. By tool, rule and template, a request counts once, and
          for each of its rules. Programs and emergency grants are not counted.
        </li>
      </ul>
    </details>
  );
}

function Always({ found: { tables }, limit }: FiguresProps) {
  const { rows, count } = tables.always;
  if (count === 0) return null;
  return (
    <section class="card" aria-labelledby="always">
      <h2 id="always">Always approved</h2>
      <p>
        People approved each request of these rules, at least {ALWAYS_AT_LEAST} of them, and denied none. Check whether
        these calls need a person.
      </p>
      <ul class="votes">
        {rows.map(({ key, approved }) => (
          <li key={key}>
            <Visible text={key} />: {many(approved)} approved
          </li>
        ))}
      </ul>
      <Limited shown={rows.length} count={count} limit={limit} />
    </section>
  );
}

interface TableProps extends FiguresProps {
  readonly kind: FigureKind;
  readonly title: string;
  /** Heading of the first column. */
  readonly label: string;
}

function Table({ kind, title, label, ...props }: TableProps) {
  const { rows, count } = props.found.tables[kind];
  if (count === 0) return null;
  return (
    <section class="card" aria-labelledby={kind}>
      <h2 id={kind}>{title}</h2>
      <div class="wide figures" tabIndex={0} role="region" aria-label={`Table: ${title}`}>
        <table>
          <thead>
            <tr>
              <Heading {...props} kind={kind} column="name" label={label} />
              <Heading {...props} kind={kind} column="approved" label="Approved" />
              <Heading {...props} kind={kind} column="denied" label="Denied" />
              <Heading {...props} kind={kind} column="median" label="Median time" />
              <Heading {...props} kind={kind} column="p90" label="90% within" />
              <Heading {...props} kind={kind} column="quick" label={`Within ${QUICK_SECONDS} s`} />
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.key} figure={row} />
            ))}
          </tbody>
        </table>
      </div>
      <Limited shown={rows.length} count={count} limit={props.limit} />
    </section>
  );
}

type HeadingProps = FiguresProps & { readonly kind: FigureKind; readonly column: FigureSort; readonly label: string };

/** A link that sorts all tables by the column; again, the other way round. */
function Heading({ kind, column, label, sort, order, parameters }: HeadingProps) {
  const isSorted = sort === column;
  const first = column === 'name' ? 'asc' : 'desc';
  const next = isSorted ? (order === 'asc' ? 'desc' : 'asc') : first;
  const sorted = isSorted ? (order === 'asc' ? ('ascending' as const) : ('descending' as const)) : undefined;
  return (
    <th scope="col" aria-sort={sorted} class={column === 'name' ? undefined : 'number'}>
      <a href={`${addressOf('/figures', { ...parameters, sort: column, order: next })}#${kind}`}>{label}</a>
      {isSorted && <span aria-hidden="true">{order === 'asc' ? ' ↑' : ' ↓'}</span>}
    </th>
  );
}

function Row({
  figure: { key, name, approved, denied, medianSeconds, p90Seconds, opened, quick },
}: {
  figure: Figure;
}) {
  return (
    <tr>
      <th scope="row">
        <Visible text={name ?? key} />
        {name !== null && name !== key && (
          <div class="soft">
            <Visible text={key} />
          </div>
        )}
      </th>
      <td class="number">{many(approved)}</td>
      <td class="number">{many(denied)}</td>
      <td class="number">{duration(medianSeconds)}</td>
      <td class="number">{duration(p90Seconds)}</td>
      <td class="number">
        {opened === 0 ? 'none opened' : `${Math.round((quick / opened) * 100)}% of ${many(opened)}`}
      </td>
    </tr>
  );
}

function Limited({ shown, count, limit }: { shown: number; count: number; limit: number }) {
  if (shown >= count) return null;
  return (
    <p class="hint">
      The first {shown} of {many(count)}, in the order of the sorted column. Add <code>limit</code> to the address for
      more than {limit}.
    </p>
  );
}

const many = (count: number): string => count.toLocaleString('en');

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** In the largest unit of which there are two: `90 s`, `4 min`, `3 h`, `5 d`. */
function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.round(seconds / size).toLocaleString('en')} ${unit}`;
}
