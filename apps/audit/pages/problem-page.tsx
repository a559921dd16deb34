/** What went wrong, for a person and for a program. @see RFC 9457 */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail?: string;
}

/** Says what went wrong and what to do about it. */
export function ProblemPage({ problem }: { problem: Problem }) {
  return (
    <section class="audit-problem">
      <h1>{problem.title}</h1>
      {problem.detail && <p>{problem.detail}</p>}
      <p>
        <a href="/outcome-records">All outcome records</a>
      </p>
    </section>
  );
}
