// Runs every check that needs no server. Each is a separate npm script, so that it can be repeated alone.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKS = ['format:check', 'lint', 'boundaries', 'typecheck', 'deadcode', 'spelling', 'compose:check', 'sources'];
const AT_ONCE = 2;

/**
 * Runs all checks, two at a time, to the end even when one fails; prints one line each, and the output of those that
 * failed. @returns {Promise<string[]>} the names of those that failed
 */
export async function runChecks() {
  const waiting = [...CHECKS];
  const failed = [];
  const runner = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const { passed, output, seconds } = await run(name);
      console.log(`  ${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(14)} ${seconds} s`);
      if (!passed) {
        failed.push(name);
        console.log(`${output.trimEnd()}\n  (again with: npm run ${name})`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
  return failed;
}

function run(name) {
  const began = performance.now();
  return new Promise((done) => {
    const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (part) => (output += part));
    child.stderr.on('data', (part) => (output += part));
    child.on('error', (error) => done({ passed: false, output: error.message, seconds: '0' }));
    child.on('close', (code) =>
      done({ passed: code === 0, output, seconds: ((performance.now() - began) / 1_000).toFixed(1) }),
    );
  });
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const failed = await runChecks();
  if (failed.length > 0) {
    console.log(`failed: ${failed.join(', ')}`);
    process.exitCode = 1;
  }
}
