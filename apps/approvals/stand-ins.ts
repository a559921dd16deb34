import { APPROVER_ROLE } from '../../workflows/domain/access-request/eligibility.ts';
import type { Approver } from '../../workflows/domain/access-request/access-request.ts';
import type { Config } from '../shared/config/config.ts';
import type { DirectorySource } from '../shared/directory/directory.ts';
import type { Delegation, DelegationStore, NewDelegation, NewHandOver } from './stores/delegation.store.ts';

interface Known {
  readonly config: Pick<Config, 'mode' | 'identity'>;
  readonly people: DirectorySource;
}

/** An absent approver with the roles they still have. Undefined if they may not decide any more, or no source knows them. */
export type StillApprover = (approver: Approver) => Approver | undefined;

/**
 * Tells whether an approver who is not there may still decide. They have no session here, so the issuer cannot be asked about them. The
 * directory says whether they are active and which roles they have; in development, the embedded issuer's people do. Where neither knows
 * them, nothing could end what they left behind, so it does not count.
 */
export function stillApprover({ config, people }: Known): StillApprover {
  const rolesNow = (subject: string): readonly string[] | 'as before' | undefined => {
    const directory = people();
    const known = directory.find(subject);
    if (known?.isActive === false) return undefined;
    if (config.mode === 'development' && config.identity.issuer === undefined) {
      return config.identity.people.find(({ name }) => name === subject)?.roles;
    }
    // A directory without any roles only says who is active.
    return known && (directory.people.some(({ roles }) => roles.length > 0) ? known.roles : 'as before');
  };
  return (approver) => {
    const now = rolesNow(approver.subject);
    if (now === undefined) return undefined;
    const roles = approver.roles.filter((role) => now === 'as before' || now.includes(role));
    return roles.includes(APPROVER_ROLE) ? { ...approver, roles } : undefined;
  };
}

/** Delegations that count: those of people who may still decide themselves. */
export function standIns(store: DelegationStore, still: StillApprover, people: DirectorySource) {
  const otherNamesOf = (subject: string) => people().otherNamesOf([subject]);
  return {
    ...store,
    /** `unlisted`: no source could say later whether the delegator may still decide. */
    add: async (delegation: NewDelegation) =>
      still(delegation.delegator) === undefined
        ? ('unlisted' as const)
        : store.add({ ...delegation, delegateAliases: otherNamesOf(delegation.delegate) }),

    /** `unlisted`: as for `add`. `no_approver`: no source knows the other person as an approver. */
    handOver: async (one: NewHandOver) => {
      if (still(one.delegator) === undefined) return 'unlisted' as const;
      const other = { issuer: one.delegator.issuer, subject: one.delegate, roles: [APPROVER_ROLE] };
      if (still(other) === undefined) return 'no_approver' as const;
      return store.handOver({ ...one, delegateAliases: otherNamesOf(one.delegate) });
    },

    async activeTo(delegate: string) {
      const given = await store.activeTo(delegate);
      return given.flatMap((one): Delegation[] => {
        const delegator = still(one.delegator);
        return delegator === undefined ? [] : [{ ...one, delegator }];
      });
    },
  };
}

export type StandIns = ReturnType<typeof standIns>;
