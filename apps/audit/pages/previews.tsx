import type { RecordedPreview } from '../../../workflows/domain/tools/preview.ts';
import { Facts } from '../../shared/pages/layout.tsx';
import { Code } from '../../shared/pages/visible.tsx';
import { Moment } from './parts.tsx';

/** What approvers were shown as the server's word of what would happen. The record has the digest of it, and not its content. */
export function Previews({ of }: { of: readonly RecordedPreview[] }) {
  return (
    <section class="card" aria-label="Previews">
      <h2>Previews</h2>
      <p class="hint">The server said this to the gateway, for the approvers. A preview is no execution of the call.</p>
      {of.map(({ tool, takenAt, said, fault }) => (
        <Facts
          key={takenAt}
          rows={[
            ['Tool', <Code text={tool} />],
            ['At', <Moment at={takenAt} precise />],
            fault && ['No preview', fault.replaceAll('_', ' ')],
            said && ['Answer', `${said.isError ? 'an error' : 'a result'} of ${said.bytes.toLocaleString('en')} bytes`],
            said && ['Digest', <Code text={said.digest} />],
          ]}
        />
      ))}
    </section>
  );
}
