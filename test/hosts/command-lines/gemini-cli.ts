import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, drive, given, HOME, pasteToken, run, takeSteps, TOKEN, type Run } from './common.ts';

const PROGRAM = given('HOST_PROGRAM');
const FOLDER = join(HOME, '.gemini');
const SETTINGS = join(FOLDER, 'settings.json');
/** It asks how to sign in to the model, and reports its use, unless it is told. */
const OWN_SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
};
const OPTIONS = ['--skip-trust', '--approval-mode', 'yolo', '--output-format', 'text', '-m', 'gemini-2.5-pro'];

await drive(async (modelUrl) => {
  const env = { GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_API_KEY: 'unused' };
  const gemini = (words: string, onText?: Run['onText']) =>
    run(process.execPath, [PROGRAM, '-p', words, ...OPTIONS], { env, ...(onText && { onText }) });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(SETTINGS, JSON.stringify(OWN_SETTINGS));
  await connect('gemini-cli');
  if (TOKEN === undefined) await signIn(gemini);
  else pasteToken(SETTINGS);
  await takeSteps(gemini);
});

/** It asks before it calls the browser. Without a terminal, it fails after the sign-in, since it cannot show how that ended. */
async function signIn(gemini: (words: string, onText: NonNullable<Run['onText']>) => Promise<string>): Promise<void> {
  try {
    await gemini('/mcp auth countersign', (text, type) => {
      if (text.includes('[Y/n]')) type('y\n');
    });
  } catch (error) {
    if (!String(error).includes('not supported in non-interactive mode')) throw error;
  }
}
