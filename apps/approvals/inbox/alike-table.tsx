import { Time } from '../../shared/pages/layout.tsx';
import { Code, Visible } from '../../shared/pages/visible.tsx';
import type { ListedRequest } from '../stores/lists.ts';
import { type Differences, differencesIn } from './alike.ts';
import { EffectBadge, LeafValue } from './summary.tsx';

/** More columns would not fit beside each other. The rows say what is left out. */
const MAX_COLUMNS = 6;

/** Requests of one kind: what they have in common once, then a row for each with what differs. Values that stand out are marked. */
export function AlikeTable({ rows }: { rows: readonly ListedRequest[] }) {
  const [first] = rows;
  if (first === undefined) return null;
  const differences = differencesIn(rows);
  const columns = differences.paths.slice(0, MAX_COLUMNS);
  const left = differences.paths.length - columns.length;
  const hasCut = rows.some(({ outline }) => outline?.isWhole !== true);
  return (
    <section class="card alike" aria-label="Requests of one kind">
      <p>
        <Code text={first.tool} /> <EffectBadge effect={first.effect} /> asked by{' '}
        <Visible text={first.requester.subject} />
        {first.requester.clientId !== undefined && (
          <>
            {' through '}
            <Visible text={first.requester.clientId} />
          </>
        )}
      </p>
      <InCommon differences={differences} />
      {(left > 0 || hasCut) && (
        <p class="hint">
          {left > 0 && `${left} more arguments differ. `}
          {hasCut && 'Some arguments are too long for this table. '}
          Each request shows all of its arguments.
        </p>
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
            {rows.map((request) => (
              <AlikeRow key={request.id} {...{ request, columns, differences }} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
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

interface AlikeRowProps {
  readonly request: ListedRequest;
  readonly columns: readonly string[];
  readonly differences: Differences;
}

function AlikeRow({ request: { id, outline, createdAt }, columns, differences }: AlikeRowProps) {
  const odd = differences.outliers.get(id);
  return (
    <tr data-request={id}>
      <th scope="row">
        <a href={`/requests/${id}`}>
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
