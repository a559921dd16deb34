import type { SigningInHost } from '../support/signing-in-client.ts';
import type { HeldCall } from './calls.ts';
import { peopleDecide, roleTakenAway, signOut } from './pages.ts';
import { agentCalls, hostRefreshes, hostSignsIn } from './programs.ts';
import type { Scene } from './scene.ts';
import { doctorAgrees, missingAudience, missingScope } from './tokens.ts';

/** What one step leaves for the next ones. */
export interface Story {
  ofAgent?: HeldCall;
  ofPerson?: HeldCall;
  host?: SigningInHost;
}

/** One promise about the product with an issuer. Throws when it does not hold. */
export interface Step {
  readonly name: string;
  readonly run: (scene: Scene, story: Story) => Promise<void>;
}

/** In the order of a first day with the product. */
export const STEPS: readonly Step[] = [
  agentCalls,
  hostSignsIn,
  peopleDecide,
  signOut,
  roleTakenAway,
  missingScope,
  missingAudience,
  hostRefreshes,
  doctorAgrees,
];
