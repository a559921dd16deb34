import { ALL_DISMISSALS, describeDismissals } from '../support/dismissals.ts';

describeDismissals(ALL_DISMISSALS);
