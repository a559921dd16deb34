import type { SigningInHost } from '../support/signing-in-client.ts';
import type { HeldCall } from './calls.ts';
import type { LaunchingHost } from './launching-host.ts';
import type { Scene } from './scene.ts';

/** What one step leaves for the next ones. */
export interface Story {
  ofAgent?: HeldCall;
  ofPerson?: HeldCall;
  host?: SigningInHost;
  launching?: LaunchingHost;
}

/** One promise about the product with an issuer. Throws when it does not hold. */
export interface Step {
  readonly name: string;
  readonly run: (scene: Scene, story: Story) => Promise<void>;
}
