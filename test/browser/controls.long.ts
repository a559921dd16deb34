import { describe } from '@jest/globals';
import { pressEverything } from './press-everything.ts';

describe('without any script', () => pressEverything({ javaScriptEnabled: false, everywhere: false }));
describe('with the script of the pages', () => pressEverything({ javaScriptEnabled: true, everywhere: true }));
