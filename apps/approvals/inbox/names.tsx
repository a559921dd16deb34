import { createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import type { Clock } from '../../shared/clock.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { renderPage } from '../../shared/pages/layout.tsx';
import { visibleTitle } from '../../shared/pages/visible-text.ts';
import { Visible } from '../../shared/pages/visible.tsx';

/** What people and agents are called, beside the ids that decide. */
export interface Names {
  /** As the directory says. */
  person(subject: string): string | undefined;
  /** As the program calls itself. It is the program's claim. */
  agent(clientId: string): string | undefined;
}

/** The names that a page can show. */
export const NamesOf = createContext<Names>({ person: () => undefined, agent: () => undefined });

interface NamesPorts {
  readonly people: () => Pick<Directory, 'find'>;
  readonly agentNames: () => ReadonlyMap<string, string>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Draws a page on which people and agents have their names. */
export function renderNamed({ people, agentNames, clock }: NamesPorts, page: VNode): string {
  const [directory, agents] = [people(), agentNames()];
  const names: Names = {
    person: (subject) => directory.find(subject)?.displayName,
    agent: (clientId) => agents.get(clientId),
  };
  return renderPage(<NamesOf.Provider value={names}>{page}</NamesOf.Provider>, clock.now());
}

/** A person by their name, with the subject beside it; in a short place, the subject is the title. */
export function Person({ subject, isShort = false }: { subject: string; isShort?: boolean }) {
  const name = useContext(NamesOf).person(subject);
  if (name === undefined || name === subject) return <Visible text={subject} />;
  if (isShort)
    return (
      <span title={visibleTitle(subject)}>
        <Visible text={name} />
      </span>
    );
  return (
    <>
      <Visible text={name} />{' '}
      <span class="soft">
        (<Visible text={subject} />)
      </span>
    </>
  );
}

/** An agent by the name that it gives itself, in quotation marks, with its id. */
export function Agent({ clientId }: { clientId: string }) {
  const name = useContext(NamesOf).agent(clientId);
  if (name === undefined || name === clientId) return <Visible text={clientId} />;
  return (
    <>
      “<Visible text={name} />”{' '}
      <span class="soft">
        (<Visible text={clientId} />)
      </span>
    </>
  );
}
