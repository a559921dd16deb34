import { describe } from '@jest/globals';
import { pressEverything } from './press-everything.ts';

describe('the controls of the pages without scripts', () => pressEverything({ javaScriptEnabled: false }));
