import { addressOf } from '../../shared/http/list-cursor.ts';
import { Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { ListedRequest } from '../stores/lists.ts';
import { type Differences, differencesIn } from './alike.ts';
import { useRequestAddress } from './near.tsx';
import { Select } from './row.tsx';
import { AskedBy, EffectBadge, LeafValue } from './summary.tsx';

/** More columns would not fit beside each other. The rows say what is left out. */
const MAX_COLUMNS = 6;

interface AlikeTableProps {
  readonly rows: readonly ListedRequest[];
  /** The query parameters of the page, where several requests can be decided together. */
  readonly select: Readonly<Record<string, string | undefined>> | undefined;
}

/** Requests of one kind: what they have in common once, then a row for each with what differs. Values that stand out are marked. */
export function AlikeTable({ rows, select }: AlikeTableProps) {
  const [first] = rows;
  if (first === undefined) return null;
  const differences = differencesIn(rows);
  const columns = differences.paths.slice(0, MAX_COLUMNS);
  const left = differences.paths.length - columns.length;
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
      {select !== undefined && <SelectLinks parameters={select} differences={differences} />}
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
            {rows.map((request) => (
              <AlikeRow
                key={request.id}
                {...{ request, columns, differences }}
                isSelected={select && isSelected(select['select'], differences.outliers.has(request.id))}
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

/** Without a script, a selection is an address. */
function SelectLinks({ parameters, differences: { outliers } }: SelectLinksProps) {
  const to = (which: string | undefined) => addressOf('/requests', { ...parameters, select: which });
  return (
    <p>
      Select <a href={to('all')}>all</a>
      {outliers.size > 0 && (
        <>
          ,
          <a href={to('usual')} data-selects>
            all that do not stand out
          </a>
        </>
      )}
      , <a href={to(undefined)}>none</a>
    </p>
  );
}

const isSelected = (which: string | undefined, standsOut: boolean): boolean =>
  which === 'all' || (which === 'usual' && !standsOut);

interface SelectLinksProps {
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly differences: Differences;
}

interface AlikeRowProps {
  /** Undefined where nothing can be selected. */
  readonly isSelected: boolean | undefined;
  readonly request: ListedRequest;
  readonly columns: readonly string[];
  readonly differences: Differences;
}

function AlikeRow({ request: { id, outline, createdAt }, columns, differences, isSelected: isChecked }: AlikeRowProps) {
  const requestAddress = useRequestAddress();
  const odd = differences.outliers.get(id);
  return (
    <tr id={`row-${id}`} data-request={id}>
      <th scope="row">
        {isChecked !== undefined && <Select id={id} isSelected={isChecked} />}{' '}
        <a id={`row-${id}-title`} href={requestAddress(id)}>
          asked <Time at={createdAt} />
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
