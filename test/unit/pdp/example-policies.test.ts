import { beforeAll, describe, expect, it } from '@jest/globals';
import { createEvaluator, type Evaluator } from '../../../apps/pdp/engine/cedar/evaluator.ts';
import { readPolicyFiles } from '../../../apps/pdp/engine/cedar/policy-folder.ts';
import { answerByPolicy } from '../../../apps/pdp/offer/requestable.ts';
import { readDirectory } from '../../../apps/shared/directory/directory.ts';
import type { EvaluationRequest } from '../../../workflows/domain/authzen/evaluation.ts';
import { aUser, directoryText } from '../../support/directory.ts';
import { DEFAULT_POLICIES, loadEvaluator } from '../../support/pdp.ts';

let evaluator: Evaluator;
beforeAll(async () => void (evaluator = await loadEvaluator(DEFAULT_POLICIES)));

function aCall(
  tool: string,
  args: Record<string, unknown> = { path: '/srv/notes.txt' },
  subject = 'agent',
): EvaluationRequest {
  return {
    subject: { type: 'identity', id: subject },
    action: { name: 'tools/call' },
    resource: { type: 'tool', id: tool, properties: { annotations: { readOnlyHint: true, title: 'Any' } } },
    context: { agent: 'agent', arguments: args, call_digest: 'sha-256:00' } as EvaluationRequest['context'],
  };
}
const ask = (...call: Parameters<typeof aCall>) => answerByPolicy(evaluator, aCall(...call));

describe('the example policies', () => {
  it('deny everything to a person who has left, according to the directory', async () => {
    const directory = readDirectory(directoryText(aUser('alice'), aUser('bob', { active: false })), 'userName');
    const own = await createEvaluator({ ...(await readPolicyFiles(DEFAULT_POLICIES)), directory });
    const of = (subject: string) => answerByPolicy(own, aCall('files__read_file', {}, subject));
    expect([of('alice').kind, of('agent').kind]).toEqual(['permit', 'permit']);
    expect(of('bob')).toMatchObject({ kind: 'deny', reason: 'subject_inactive' });
  });

  it('have no warnings from Cedar', () => {
    expect(evaluator.warnings).toEqual([]);
  });

  it.each([
    'files__read_file',
    'files__read_text_file',
    'files__read_media_file',
    'files__read_multiple_files',
    'files__list_directory',
    'files__list_directory_with_sizes',
    'files__directory_tree',
    'files__search_files',
    'files__get_file_info',
    'files__list_allowed_directories',
    'everything__echo',
    'everything__get-sum',
  ])('let every caller call %s', (tool) => {
    expect(ask(tool, {}, 'stranger').kind).toBe('permit');
  });

  it('read no annotations, because upstreams write them [TOOL-010]', () => {
    const tools = ['files__read_file', 'files__write_file', 'files__move_file', 'everything__echo', 'other__tool'];
    for (const tool of tools) {
      const call = aCall(tool);
      for (const annotations of [{}, { readOnlyHint: true }, { readOnlyHint: false, destructiveHint: true }]) {
        const annotated = { ...call, resource: { ...call.resource, properties: { annotations } } };
        expect(answerByPolicy(evaluator, annotated)).toEqual(ask(tool));
      }
    }
  });

  it('let a sum have fractions, because no policy reads it', () => {
    expect(ask('everything__get-sum', { a: 1.5, b: 1e30 }).kind).toBe('permit');
  });

  it.each(['files__write_file', 'files__edit_file', 'files__create_directory'])(
    'let %s wait for an operator',
    (tool) => {
      expect(ask(tool)).toMatchObject({
        kind: 'requestable',
        template: 'operator_approval',
        reason: 'approval_required',
        title: 'Change a file',
        policies: ['files-change'],
      });
      const approved = answerByPolicy(evaluator, aCall(tool), { verified: true, template: 'operator_approval' });
      expect(approved.kind).toBe('permit');
    },
  );

  it.each([
    ['files__move_file', 'moving_files_is_not_allowed'],
    ['files__delete_everything', 'not_permitted'],
    ['everything__get-env', 'not_permitted'],
    ['git__status', 'not_permitted'],
  ])('deny %s without a way to an approval', (tool, reason) => {
    expect(ask(tool)).toMatchObject({ kind: 'deny', reason });
    expect(answerByPolicy(evaluator, aCall(tool), { verified: true, template: 'operator_approval' }).kind).toBe('deny');
  });

  it.each(['/srv/.env', '.env', '/srv/.env/.', '/srv/.env.local', 'keys/prod.secret', '/a.secret/'])(
    'refuse to write %s, even with an approval',
    (path) => {
      const refused = { kind: 'deny', reason: 'secret_files_are_not_written' };
      expect(ask('files__write_file', { path })).toMatchObject(refused);
      const approval = { verified: true, template: 'operator_approval' } as const;
      expect(answerByPolicy(evaluator, aCall('files__write_file', { path }), approval)).toMatchObject(refused);
    },
  );

  it.each([
    ['no path', {}, { kind: 'deny', reason: 'path_missing' }],
    ['a path of null', { path: null }, { kind: 'deny', reason: 'path_missing' }],
    ['a path that is not text', { path: ['/srv/.env'] }, { kind: 'failed' }],
  ])('refuse to write with %s', (_name, args, refused) => {
    expect(ask('files__write_file', args)).toMatchObject(refused);
  });

  it('refuse everything to a subject that the decision point knows as suspended', () => {
    expect(ask('files__read_file', {}, 'retired-agent')).toMatchObject({ kind: 'deny', reason: 'subject_suspended' });
  });

  const aRead = (action: string, type: string, id: string, context = {}): EvaluationRequest => ({
    subject: { type: 'identity', id: 'agent' },
    action: { name: action },
    resource: { type, id },
    context: { agent: 'agent', ...context },
  });
  it.each([
    ['permit', aRead('prompts/get', 'prompt', 'everything__args-prompt', { arguments: { city: 'Oslo' } })],
    ['permit', aRead('completion/complete', 'prompt', 'everything__args-prompt')],
    ['permit', aRead('resources/read', 'resource', 'demo://resource/static/document/features.md')],
    ['permit', aRead('completion/complete', 'resource', 'demo://resource/dynamic/text/{resourceId}')],
    ['deny', aRead('prompts/get', 'prompt', 'other__prompt')],
    ['deny', aRead('prompts/get', 'resource', 'everything__args-prompt')],
    ['deny', aRead('resources/read', 'resource', 'file:///etc/passwd')],
    ['deny', aRead('resources/read', 'prompt', 'demo://resource/x')],
    [
      'deny',
      {
        ...aRead('resources/read', 'resource', 'demo://resource/x'),
        subject: { type: 'identity', id: 'retired-agent' },
      },
    ],
  ])('answer %s to a request that calls no tool (%#)', (kind, request) => {
    expect(answerByPolicy(evaluator, request).kind).toBe(kind);
  });

  it('do not mistake another kind of resource for a tool', () => {
    const other = { ...aCall('files__read_file'), resource: { type: 'prompt', id: 'files__read_file' } };
    expect(answerByPolicy(evaluator, other).kind).toBe('deny');
  });
});
