import { describe } from '@jest/globals';
import { pressEverything } from './press-everything.ts';

describe('the controls of the pages with their scripts', () => pressEverything({ javaScriptEnabled: true }));
