import type { Chance } from '../histories/chance.ts';
import { createChance } from '../histories/chance.ts';
import { startAttacker, type Attacker, type Target } from './attacker.ts';
import { BUNDLE_ATTACKS } from './bundle-attacks.ts';
import { asking, makeGenuine, submitting, useGenuine, type Genuine } from './genuine.ts';
import type { Ground, Post } from './ground.ts';
import { MESSAGE_ATTACKS } from './message-attacks.ts';
import { TOKEN_ATTACKS } from './token-attacks.ts';
import { USE_ATTACKS } from './use-attacks.ts';

/** Requests under way at once. */
const AT_ONCE = 16;
/**
 * The number of forgeries from one set of genuine originals, which are used afterwards to show that they were valid all
 * the time.
 */
const PER_ROUND = 250;
/** More faults than these say nothing new. */
const FAULTS_SHOWN = 3;

interface Made {
  readonly ground: Ground;
  readonly attacker: Attacker;
  readonly genuine: Genuine;
  readonly last: Genuine;
  readonly chance: Chance;
}

interface Attack {
  readonly name: string;
  make(of: Made): Post | Promise<Post>;
}

export interface ForgeryOptions {
  readonly count: number;
  readonly seed: string;
  readonly onProgress?: (tried: number) => void;
}

export interface ForgeryFigures {
  readonly seed: string;
  readonly tried: number;
  readonly seconds: number;
  /** The number of tries of each attack. */
  readonly attacks: Readonly<Record<string, number>>;
  /** The number of each status among the answers to forgeries. */
  readonly answers: Readonly<Record<string, number>>;
  /** Genuine things that were taken for genuine, six in each round. */
  readonly controls: number;
  /** Forgeries that were taken for genuine or got a forbidden answer; empty when all is well. */
  readonly faults: readonly string[];
}

/**
 * Tries forgeries in turn until there were `count`, or until a round in which one was taken. Throws when a genuine
 * message is refused, since then no refusal proves anything.
 */
export async function runForgeries(
  ground: Ground,
  { count, seed, onProgress }: ForgeryOptions,
): Promise<ForgeryFigures> {
  const attacker = await startAttacker();
  const tally = { attacks: new Map<string, number>(), answers: new Map<string, number>(), faults: [] as string[] };
  const began = performance.now();
  const before = await ground.stored();
  let [tried, rounds] = [0, 1];
  const figures = (): ForgeryFigures => ({
    ...{ seed, tried, seconds: (performance.now() - began) / 1_000, controls: rounds * 6, faults: tally.faults },
    ...{ attacks: Object.fromEntries(tally.attacks), answers: Object.fromEntries(tally.answers) },
  });
  try {
    let last = await makeGenuine(ground);
    await useGenuine(ground, last);
    for (; tried < count; rounds += 1) {
      const genuine = await makeGenuine(ground);
      const upTo = Math.min(count, tried + PER_ROUND);
      const work = async () => {
        for (let nth = tried++; nth < upTo; nth = tried++) {
          const chance = createChance(`${seed}/${nth}`);
          const attack = ATTACKS[nth % ATTACKS.length] as Attack;
          await tryOne(attack, { ground, attacker, genuine, last, chance }, tally);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      tried = upTo;
      // An accepted original is used up: then no genuine message could be shown to be valid any more.
      if (tally.faults.length > 0) return figures();
      await useGenuine(ground, genuine);
      last = genuine;
      onProgress?.(tried);
    }
    tally.faults.push(...(await leftovers(ground, { before, rounds, attacker })));
    return figures();
  } finally {
    await attacker.close();
  }
}

type Tally = Readonly<Record<'attacks' | 'answers', Map<string, number>>> & { readonly faults: string[] };

async function tryOne({ name, make }: Attack, of: Made, { attacks, answers, faults }: Tally): Promise<void> {
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const post = await make(of);
  const { accepted, status, text } = await of.ground.post(post);
  count(attacks, name);
  count(answers, `${post.to} ${status}`);
  const fault = accepted
    ? 'TAKEN FOR GENUINE'
    : status >= 500
      ? 'a fault of ours'
      : status === 429
        ? 'held back, which proves nothing'
        : undefined;
  if (fault === undefined || faults.length >= FAULTS_SHOWN) return;
  const body = typeof post.body === 'string' ? post.body : Buffer.from(post.body).toString('latin1');
  faults.push(
    `${name}: ${fault}: ${status} ${text.slice(0, 300)}\n${JSON.stringify(post.headers)}\n${body.slice(0, 2_000)}\n${of.ground.complaints()}`,
  );
}

/**
 * Each round opened nine requests, two by way of another control and six in bundles; voted twice; and had one callback.
 * Nothing else may be there.
 */
async function leftovers(
  ground: Ground,
  { before, rounds, attacker }: { before: Awaited<ReturnType<Ground['stored']>>; rounds: number; attacker: Attacker },
): Promise<string[]> {
  const after = await ground.stored();
  const expected = {
    requests: before.requests + 9 * rounds,
    votes: before.votes + 2 * rounds,
    callbacks: before.callbacks + rounds,
  };
  const differs = (['requests', 'votes', 'callbacks'] as const).filter((name) => after[name] !== expected[name]);
  return [
    ...differs.map((name) => `${after[name]} ${name} are stored, and genuine messages explain ${expected[name]}`),
    ...(attacker.visits() > 0 ? [`the keys of the attacker were fetched ${attacker.visits()} times`] : []),
  ];
}

/** A binding token goes to the approval service, the proof of an approval to the PDP. */
function tokenAttacks(): Attack[] {
  return Object.entries(TOKEN_ATTACKS).flatMap(([name, attack]) => [
    {
      name: `binding token, ${name}`,
      async make(of: Made) {
        const { question, denial } = of.genuine.denied;
        const binding_token = await attack(bindingTarget(of));
        return submitting(of.ground, { ...question, denial: { ...denial, binding_token } });
      },
    },
    {
      name: `approval, ${name}`,
      async make(of: Made) {
        const { question, approval } = of.genuine.approved;
        return asking(of.ground, question, { ...approval, state: await attack(stateTarget(of)) });
      },
    },
  ]);
}

const bindingTarget = ({ ground, genuine, last, attacker, chance }: Made): Target => ({
  ...{ token: genuine.denied.denial.binding_token, another: last.denied.denial.binding_token },
  ...{ otherKind: genuine.approved.approval.state, signingKey: ground.secrets.pdpSigningKey, attacker, chance },
});

const stateTarget = ({ ground, genuine, last, attacker, chance }: Made): Target => ({
  ...{ token: genuine.approved.approval.state, another: last.approved.approval.state },
  ...{ otherKind: genuine.denied.denial.binding_token, signingKey: ground.secrets.accessRequestSigningKey },
  ...{ attacker, chance },
});

const messageAttacks = (): Attack[] =>
  Object.entries(MESSAGE_ATTACKS).flatMap(([name, attack]) =>
    (['callback', 'decision'] as const).map((kind) => ({
      name: `${kind}, ${name}`,
      make: ({ ground, genuine, last, chance }: Made) =>
        attack({ ground, message: genuine[kind], last: last[kind], chance }),
    })),
  );

const ATTACKS: readonly Attack[] = [
  ...tokenAttacks(),
  ...messageAttacks(),
  ...Object.entries({ ...USE_ATTACKS, ...BUNDLE_ATTACKS }).map(([name, make]) => ({ name, make })),
];

export const ATTACK_NAMES: readonly string[] = ATTACKS.map(({ name }) => name);
