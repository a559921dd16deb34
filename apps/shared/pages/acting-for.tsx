import { Visible } from './visible.tsx';

/** Who acted for a voter by the token with which the vote was cast, the last first. */
export function ActingFor({ actors }: { actors: readonly string[] }) {
  return (
    <>
      (acting for them: <Visible text={actors.join(', ')} />)
    </>
  );
}
