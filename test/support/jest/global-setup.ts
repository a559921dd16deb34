import { endAbandonedRuns } from '../run-folder.mjs';

/** Servers start when a test file first asks for one, so a run of unit tests waits for none. */
export default endAbandonedRuns;
