import { aTransfer, type Item } from '../support/bundles.ts';
import { submitting } from './genuine.ts';
import type { UseAttack } from './use-attacks.ts';

const shuffled = ([first, ...rest]: readonly Item[]): Item[] => [...rest, ...(first ? [first] : [])];
const without = <One>([, ...rest]: readonly One[]): One[] => rest;

/** Uses the denials of bundles for other items, in another order, or more than once. */
export const BUNDLE_ATTACKS: Readonly<Record<string, UseAttack>> = {
  'a bundle, with items other than the denied ones': ({ ground, genuine: { bundles }, last, chance }) => {
    const { items, ...rest } = bundles.whole;
    const others = chance.oneOf<() => Item[]>([
      () => [...items, aTransfer()],
      () => [aTransfer(), ...items],
      () => without(items),
      () => [...without(items), aTransfer()],
      () => [...items, ...items.slice(0, 1)],
      () => [...without(items), ...last.bundles.whole.items.slice(0, 1)],
      () => items.map((item) => ({ ...item, action: { name: 'close_account' } })),
      () => items.map((item) => ({ ...item, resource: { ...item.resource, type: 'vault' } })),
    ]);
    return submitting(ground, { ...rest, items: others() });
  },
  'a bundle, in another order': ({ ground, genuine: { bundles }, chance }) => {
    const { items, ...rest } = bundles.whole;
    return submitting(ground, { ...rest, items: chance.oneOf([shuffled(items), [...items].reverse()]) });
  },
  'a bundle, for another person': ({ ground, genuine: { bundles }, chance }) => {
    const body = chance.oneOf([bundles.whole, bundles.each]);
    const other = chance.oneOf([{ subject: { type: 'identity', id: 'mallory' } }, { context: { agent: 'another' } }]);
    return submitting(ground, { ...body, ...other });
  },
  'a bundle, with denials of other items': ({ ground, genuine: { bundles }, chance }) => {
    const { items, ...rest } = bundles.each;
    const denials = shuffled(items) as typeof items;
    const exchanged = items.map((item, at) => ({ ...item, denial: denials[at]?.denial }));
    const foreign = items.map((item, at) => (at === 1 ? { ...item, ...aTransfer() } : item));
    return submitting(ground, { ...rest, items: chance.oneOf([exchanged, foreign]) });
  },
  'a bundle, with the denial of an item twice': ({ ground, genuine: { bundles }, chance }) => {
    const { items, ...rest } = bundles.each;
    const [first] = items;
    return submitting(ground, {
      ...rest,
      items: chance.oneOf([
        [...items, first],
        [first, first],
      ]),
    });
  },
  'a bundle, with a used denial': ({ ground, genuine: { bundles }, last, chance }) => {
    const { items, ...rest } = bundles.each;
    const mixed = { ...rest, items: [...items, ...last.bundles.each.items.slice(0, 1)] };
    return submitting(ground, chance.oneOf([mixed, last.bundles.whole, last.bundles.each]));
  },
  'a bundle, with fewer denials than items': ({ ground, genuine: { bundles }, chance }) => {
    const { items, ...rest } = bundles.each;
    const [first, ...others] = items;
    const missing = [...others, { ...first, denial: undefined }];
    return submitting(ground, { ...rest, items: missing, ...chance.oneOf([{}, { denial: first?.denial }]) });
  },
  'a bundle, by the denial of one item': ({ ground, genuine: { bundles, denied }, chance }) => {
    const denial = chance.oneOf([bundles.each.items[0]?.denial, denied.denial]);
    return submitting(ground, { ...bundles.whole, denial });
  },
  'one item, by the denial of a bundle': ({ ground, genuine: { bundles }, chance }) => {
    const { items, ...rest } = bundles.whole;
    return submitting(ground, { ...rest, ...chance.oneOf(items) });
  },
};
