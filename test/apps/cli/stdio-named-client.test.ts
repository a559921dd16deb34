import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { SignInDesk } from '../../support/stdio-sign-in.ts';

const desk = new SignInDesk();
beforeAll(() => desk.start());
afterAll(() => desk.stop());

it('signs in with a client that the person names, without a warning of the official client', async () => {
  const registered = desk.newFile();
  await desk.signIn(registered);
  const { client_id: id = '' } = registered.read()?.client ?? {};
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  try {
    const file = desk.newFile();
    await desk.signIn(file, undefined, { client: { client_id: id } });
    expect(file.read()).toMatchObject({ issuer: desk.issuer.url, client: { client_id: id } });
    expect(file.read()?.tokens?.access_token).toEqual(expect.any(String));
    expect(warn).not.toHaveBeenCalled();
  } finally {
    warn.mockRestore();
  }
});
