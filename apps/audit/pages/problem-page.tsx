import { ToTheList } from './parts.tsx';

/** What went wrong, for a person and for a program. @see RFC 9457 */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail?: string;
  /** Where a person goes from here. Default: the list. */
  readonly link?: { readonly href: string; readonly label: string };
}

/** Says what went wrong and what to do about it. */
export function ProblemPage({ problem }: { problem: Problem }) {
  return (
    <>
      {!problem.link && problem.status !== 403 && <ToTheList />}
      <div class="card audit-problem">
        <h1>{problem.title}</h1>
        {problem.detail && <p>{problem.detail}</p>}
        {problem.link && (
          <a class="button" href={problem.link.href}>
            {problem.link.label}
          </a>
        )}
      </div>
    </>
  );
}
