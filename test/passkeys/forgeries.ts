interface Passkey {
  challenge: string;
  authenticatorData: string;
  clientDataJSON: string;
  signature: string;
  publicKey: string;
}
interface Vote {
  verdict: string;
  stage: number;
  approver: { subject: string };
  castBy?: { subject: string };
  passkey: Passkey;
}
interface Asked {
  accessRequestId: string;
  generation: number;
  statement: { votes: [Vote] };
}

/** Changes one bit of a binary value. */
const bitChanged = (binary: string, at: number) => {
  const bytes = Buffer.from(binary, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  return bytes.toString('base64url');
};
const signed = (passkey: Passkey, changed: object) =>
  (passkey.challenge = JSON.stringify({ ...(JSON.parse(passkey.challenge) as object), ...changed }));

const CHANGES: Readonly<Record<string, (vote: Vote, asked: Asked) => unknown>> = {
  'another signature': ({ passkey }) => (passkey.signature = bitChanged(passkey.signature, 10)),
  'another signature counter': ({ passkey }) => (passkey.authenticatorData = bitChanged(passkey.authenticatorData, 36)),
  'a person who was not verified': ({ passkey }) => {
    const bytes = Buffer.from(passkey.authenticatorData, 'base64url');
    bytes.writeUInt8(1, 32);
    passkey.authenticatorData = bytes.toString('base64url');
  },
  'other client data': ({ passkey }) => (passkey.clientDataJSON = `${passkey.clientDataJSON.slice(0, -4)}IH0`),
  'another public key': ({ passkey }) => (passkey.publicKey = bitChanged(passkey.publicKey, 20)),
  'another challenge': ({ passkey }) => signed(passkey, { call: `sha-256:${'0'.repeat(64)}` }),
  'another request, also signed': (vote, asked) => {
    asked.accessRequestId = 'arq_another';
    signed(vote.passkey, { request: asked.accessRequestId });
  },
  'another request': (_vote, asked) => (asked.accessRequestId = 'arq_another'),
  'another generation': (_vote, asked) => (asked.generation += 1),
  'another stage': (vote) => (vote.stage += 1),
  'another approver': (vote) => (vote.approver.subject = 'bob'),
  'another signer': (vote) => (vote.castBy = { subject: 'bob' }),
  'another verdict': (vote) => (vote.verdict = 'deny'),
};

/** Copies of a record with one vote that a passkey confirmed, each with one change that the signature must betray. */
export function forgeries(record: object): { readonly name: string; readonly record: object }[] {
  return Object.entries(CHANGES).map(([name, change]) => {
    const copy = structuredClone(record) as { record: { accessRequests: [Asked] } };
    const [asked] = copy.record.accessRequests;
    change(asked.statement.votes[0], asked);
    return { name, record: copy };
  });
}
