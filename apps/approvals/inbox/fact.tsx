import type { ComponentChildren } from 'preact';

/** One line of a list of facts (`dl.facts`). */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
