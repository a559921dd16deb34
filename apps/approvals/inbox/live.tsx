import type { ComponentChildren } from 'preact';
import { usePageTime } from '../../shared/pages/layout.tsx';
import type { InboxPerson } from './person.ts';

interface LiveProps {
  /** A page that reports a refusal stays as it is: drawn again, it would lose the report. */
  readonly isStill?: boolean;
  readonly children: ComponentChildren;
}

/** A part of a page that follows what others do. Without the script it stays as it was drawn. */
export function Live({ isStill = false, children }: LiveProps) {
  const events = `/requests/events?since=${usePageTime().getTime()}`;
  return (
    <div id="live" {...(!isStill && { 'data-live': events })}>
      {children}
    </div>
  );
}

const KEYS = [
  ['j, k', 'Next and previous request, in a list and on the page of a request'],
  ['o', 'Open the request'],
  ['x', 'Select the request'],
  ['m', 'Show more like this request'],
  ['s', 'Select all that do not stand out'],
  ['b', 'Decide the selected requests together'],
  ['u', 'Back to the list'],
  ['a, d', 'Read on and approve, deny. What deletes, reaches outside or is unknown needs a second press.'],
  ['z', 'Take back a decision in its first five seconds. Escape does so too.'],
  ['r', 'Write a reason. Escape leaves the field.'],
  ['/', 'Search'],
  ['?', 'Show these keys and settings'],
] as const;

/** The list of keys, and the settings of this browser. They need the script, so the button shows only with it. */
export function Keys({ person: { push, csrfToken } }: { person: InboxPerson }) {
  return (
    <>
      <p class="keys-hint">
        <button class="quiet" type="button" data-opens-keys hidden>
          Keys and settings
        </button>
      </p>
      <dialog data-keys aria-labelledby="keys-title">
        <h2 id="keys-title">Keys and settings</h2>
        <dl class="keys">
          {KEYS.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <label class="switch">
            <input type="checkbox" name="keys" checked /> Keys work in this browser
          </label>
          <label class="switch">
            <input type="checkbox" name="notices" /> Desktop notices when there is more to decide
          </label>
          <p class="hint" role="status" data-notices-refused hidden>
            This browser does not allow notices of this site. Allow them in the settings of the browser, and switch them
            on again.
          </p>
          {push !== undefined && <PushSwitch push={push} csrfToken={csrfToken} />}
          <label class="switch">
            <input type="checkbox" name="at-once" /> Decisions are sent at once, without the five seconds to undo them
          </label>
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  );
}

/** The script shows it in a browser that can do it. */
function PushSwitch({ push, csrfToken }: Required<Pick<InboxPerson, 'push' | 'csrfToken'>>) {
  return (
    <div data-push-key={push.key} data-push-of={push.of} data-csrf-token={csrfToken} hidden>
      <label class="switch">
        <input type="checkbox" name="push" /> A notice for each request, also while no page is open
      </label>
      <p class="hint" role="status" data-push-refused hidden>
        This browser cannot get these notices. Allow notices of this site in the settings of the browser, and switch
        them on again. A private window gets none.
      </p>
    </div>
  );
}
