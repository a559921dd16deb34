import type { AskableClient, ClientAnswer } from '../../workflows/domain/upstream-ports.ts';

/** The client of a session, which answers every form in the same way. `close` ends the session. */
export function anAskableClient(key: string, answer: ClientAnswer = { kind: 'result', result: { action: 'decline' } }) {
  const closing = new AbortController();
  const asked: unknown[] = [];
  const askable: AskableClient = {
    ...{ key, caller: { issuer: 'https://idp.test', subject: 'alice' }, capabilities: { elicitation: { form: {} } } },
    closing: closing.signal,
    async ask(question) {
      asked.push(question);
      return answer;
    },
    onRootsChanged: () => () => undefined,
    told: () => undefined,
  };
  return { askable, asked, close: () => closing.abort() };
}
