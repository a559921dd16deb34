import { describe } from '@jest/globals';
import { pressEverything } from './press-everything.ts';

describe('without any script', () => pressEverything({ javaScriptEnabled: false, everywhere: false }));
