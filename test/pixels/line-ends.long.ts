import { describe } from '@jest/globals';
import { WIDTHS } from './drawing.tsx';
import { testLineEnds } from './line-ends.ts';

describe('arguments, as an approver sees them', () => testLineEnds({ widths: WIDTHS }));
