import { APPROVER_ROLE } from '../../../workflows/domain/access-request/eligibility.ts';
import type { Directory } from '../../shared/directory/directory.ts';
import { visibleTitle } from '../../shared/pages/visible-text.ts';

/** A browser shows those that fit what is typed. */
const MOST_OFFERED = 500;

interface PeopleChoiceProps {
  readonly id: string;
  readonly people: Directory;
  /** The visitor, who is no choice. */
  readonly except: string;
}

/** The approvers of the directory, for a field in which a person is typed. Empty without a directory. */
export function PeopleChoice({ id, people, except }: PeopleChoiceProps) {
  const active = people.people.filter(({ subject, isActive }) => isActive && subject !== except);
  const approvers = active.filter(({ roles }) => roles.includes(APPROVER_ROLE));
  return (
    <datalist id={id}>
      {(approvers.length > 0 ? approvers : active).slice(0, MOST_OFFERED).map(({ subject, displayName }) => (
        <option key={subject} value={subject}>
          {visibleTitle(displayName ?? subject)}
        </option>
      ))}
    </datalist>
  );
}
