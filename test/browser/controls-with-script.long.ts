import { describe } from '@jest/globals';
import { pressEverything } from './press-everything.ts';

describe('with the script of the pages', () => pressEverything({ javaScriptEnabled: true, everywhere: true }));
