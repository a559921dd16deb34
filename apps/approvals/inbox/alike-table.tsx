import { addressOf } from '../../shared/http/list-cursor.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { ListedRequest } from '../stores/lists.ts';
import { type Differences, differencesIn } from './alike.ts';
import { MAX_BATCH } from './max-batch.ts';
import { useRequestAddress } from './near.tsx';
import { Select } from './row.tsx';
import { AskedBy, EffectBadge, LeafValue } from './summary.tsx';

/** More columns would not fit beside each other. The rows say what is left out. */
const MAX_COLUMNS = 6;

interface AlikeTableProps {
  readonly rows: readonly ListedRequest[];
  /** The query parameters of the page, where several requests can be decided together. */
  readonly select: Readonly<Record<string, string | undefined>> | undefined;
  /** Whether the visitor can decide a request together with others. */
  readonly canTogether: (request: ListedRequest) => boolean;
}

/** Requests of one kind: what they have in common once, then a row for each with what differs. Values that stand out are marked. */
export function AlikeTable({ rows, select, canTogether }: AlikeTableProps) {
  const [first] = rows;
  if (first === undefined) return null;
  const differences = differencesIn(rows);
  const columns = differences.paths.slice(0, MAX_COLUMNS);
  const left = differences.paths.length - columns.length;
  const eligible = rows.filter(canTogether);
  const chosen = chosenIn(eligible, select?.['select'], differences);
  const hasCut = rows.some(({ outline }) => outline?.isWhole !== true);
  return (
    <section class="card alike" aria-label="Requests of one kind">
      <Kind of={first} />
      <InCommon differences={differences} />
      {(left > 0 || hasCut) && (
        <p class="hint">
          {left > 0 && `${left} more arguments differ. `}
          {hasCut && 'Some arguments are too long for this table. '}
          Each request shows all of its arguments.
        </p>
      )}
      {select !== undefined && (
        <SelectLinks parameters={select} differences={differences} all={rows.length} can={eligible.length} />
      )}
      <div class="wide" tabIndex={0} role="region" aria-label="What differs">
        <table>
          <thead>
            <tr>
              <th scope="col">Request</th>
              {columns.map((path) => (
                <th key={path} scope="col">
                  <Visible text={path} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((request, at) => (
              <AlikeRow
                key={request.id}
                {...{ request, columns, differences }}
                number={at + 1}
                isSelected={select && canTogether(request) ? chosen.has(request.id) : undefined}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What the requests ask for, and who asks. */
function Kind({ of: first }: { of: ListedRequest }) {
  return (
    <p>
      <Code text={first.tool} /> <EffectBadge effect={first.effect} /> <AskedBy requester={first.requester} />
    </p>
  );
}

function InCommon({ differences: { common } }: { differences: Differences }) {
  if (common.length === 0) return null;
  return (
    <p class="soft">
      In common:{' '}
      {common.map((leaf, at) => (
        <span key={leaf.path}>
          {at > 0 && ', '}
          <Visible text={leaf.path} /> <LeafValue leaf={leaf} />
        </span>
      ))}
    </p>
  );
}

interface SelectLinksProps {
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly differences: Differences;
  /** Requests in the table, and those that can be decided together. */
  readonly all: number;
  readonly can: number;
}

/** Without a script, a selection is an address. It takes at most what is decided at once. */
function SelectLinks({ parameters, differences: { outliers }, all, can }: SelectLinksProps) {
  const to = (which: string | undefined) => addressOf('/requests', { ...parameters, select: which });
  if (can === 0) return <p class="hint">You cannot decide any of these together with others. Open each.</p>;
  const some = can < all ? `all ${can} that can be decided together` : 'all';
  return (
    <p>
      Select <a href={to('all')}>{can > MAX_BATCH ? `the first ${MAX_BATCH}` : some}</a>
      {outliers.size > 0 && (
        <>
          {', '}
          <a href={to('usual')} data-selects>
            all that do not stand out
          </a>
        </>
      )}
      , <a href={to(undefined)}>none</a>
      {can > MAX_BATCH && <span class="soft">. At most {MAX_BATCH} are decided at once.</span>}
    </p>
  );
}

/** The requests that are selected at first, by their ids: at most as many as are decided at once. */
function chosenIn(
  eligible: readonly ListedRequest[],
  which: string | undefined,
  { outliers }: Differences,
): ReadonlySet<string> {
  const chosen = which === 'all' ? eligible : which === 'usual' ? eligible.filter(({ id }) => !outliers.has(id)) : [];
  return new Set(chosen.slice(0, MAX_BATCH).map(({ id }) => id));
}

interface AlikeRowProps {
  /** Its place in the table, from 1. */
  readonly number: number;
  /** Undefined where it cannot be decided together with others. */
  readonly isSelected: boolean | undefined;
  readonly request: ListedRequest;
  readonly columns: readonly string[];
  readonly differences: Differences;
}

function AlikeRow({ request, columns, differences, number, isSelected: isChecked }: AlikeRowProps) {
  const { id, outline, createdAt } = request;
  const requestAddress = useRequestAddress();
  const odd = differences.outliers.get(id);
  return (
    <tr id={`row-${id}`} data-request={id}>
      <th scope="row">
        {isChecked !== undefined && <Select id={id} isSelected={isChecked} />}{' '}
        <a id={`row-${id}-title`} href={requestAddress(id)}>
          {number}, asked <Time at={createdAt} />
        </a>
        {odd !== undefined && <span class="badge warn">stands out</span>}
      </th>
      {columns.map((path) => {
        const leaf = outline?.leaves.find((one) => one.path === path);
        const why = odd?.get(path);
        return (
          <td key={path} class={why === undefined ? undefined : 'odd'}>
            {leaf === undefined ? <span class="soft">missing</span> : <LeafValue leaf={leaf} />}
            {why !== undefined && <span class="why">{why}</span>}
          </td>
        );
      })}
    </tr>
  );
}
