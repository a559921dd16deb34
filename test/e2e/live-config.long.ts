import { afterAll, beforeAll, it } from '@jest/globals';
import { LiveProduct } from '../support/live-product.ts';

const product = new LiveProduct();
beforeAll(() => product.start());
afterAll(() => product.stop());

it('decides 100 calls on their way each by one whole configuration, and loses none', () =>
  product.expectWholeDecisions({ slow: 20, held: 10, clients: 2, atLeast: 20, everyMs: 1 }));
