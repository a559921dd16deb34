import { describeDismissals, SOME_DISMISSALS } from '../support/dismissals.ts';

describeDismissals(SOME_DISMISSALS);
