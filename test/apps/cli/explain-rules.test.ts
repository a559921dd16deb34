import { describe, expect, it } from '@jest/globals';
import { Desk } from './run.ts';

const explain = async (desk: Desk, ...args: string[]) => (await desk.run(['policy', 'explain', ...args])).out;

describe('countersign policy explain, about what a rule can test', () => {
  const desk = () =>
    new Desk({
      rules: [
        { approve: 'files__*', name: 'writes', where: undefined },
        {
          name: 'scratch',
          allow: { tool: 'files__write', where: { path: { path: { under: '/srv/scratch' } }, 'to.branch': 'main' } },
          insteadOf: 'writes',
        },
        { name: 'readers', allow: { effect: 'read' } },
        { name: 'no secrets', deny: { tool: 'mail__*', where: { body: { path: { name: '*.env' } } } } },
      ].map((rule) => JSON.parse(JSON.stringify(rule)) as object),
    });
  const about = (tool: string, args: object, ...more: string[]) =>
    explain(desk(), '--tool', tool, '--arguments', JSON.stringify(args), ...more);

  it('lists the arguments that rules look at, and those that no rule looks at', async () => {
    const out = await about('files__write', { path: '/srv/scratch/a', to: { branch: 'main', x: 1 }, content: 'x' });
    const [, seen = ''] = /^seen (.*?)\nignored/ms.exec(out) ?? [];
    const [, ignored = ''] = /^ignored (.*?) \(no rule or policy looks at it\)/ms.exec(out) ?? [];
    for (const name of ['path', 'to.branch']) expect(seen).toContain(`context.arguments.${name},`);
    for (const name of ['to.x', 'content']) expect(ignored).toContain(`context.arguments.${name}`);
  });

  it('says which rule made way', async () => {
    const out = await about('files__write', { path: '/srv/scratch/a', to: { branch: 'main' } });
    expect(out).toMatch(/^decision +permitted/);
    expect(out).toMatch(/^made way +writes \(a rule with insteadOf matches\)$/m);
    const other = await about('files__write', { path: '/srv/a', to: { branch: 'main' } });
    expect(other).not.toContain('made way');
  });

  it('says what could not be tested, for rules that match because of that, and for those that do not', async () => {
    const out = await about('files__write', { path: '/srv/x/../scratch/a' }, '--effect', 'write');
    expect(out).toContain(
      'The rule "scratch" does not allow this, because the argument path and the argument to.branch is not known',
    );
    const mail = await about('mail__send', {}, '--effect', 'write');
    expect(mail).toContain('The rule "no secrets" matches because the argument body is not known or cannot be tested.');
    expect(mail).toContain('no secrets  forbid');
    const known = await about('mail__send', { body: 'a' }, '--effect', 'write');
    expect(known).not.toContain('cannot be tested');
  });

  it('says that no rule allows a call, and that an unknown effect is why', async () => {
    const out = await about('mail__list', { body: 'a' });
    expect(out).toContain('The rule "readers" does not allow this, because the effect of the tool is not known');
    expect(out).toContain('No rule allows this call.');
    expect(await about('mail__list', { body: 'a' }, '--effect', 'read')).toMatch(/^decision +permitted/);
  });
});
