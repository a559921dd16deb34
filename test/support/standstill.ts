import { afterAll } from '@jest/globals';
import { keepNoMoreOpen } from './standing-still.mjs';

// For test files, and all of the product that runs in them.
afterAll(keepNoMoreOpen);
