import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const PRODUCT = ['apps/**/*.{ts,tsx}', 'activities/**/*.ts', 'workflows/**/*.ts'];
const TIMED = ['apps/**/*.{ts,tsx}', 'activities/**/*.ts'];
const DOMAIN = ['workflows/domain/**/*.ts'];

/** Forms that are refused everywhere. A later block that extends a list must spread it, because blocks replace lists. */
const FORMS = [
  { selector: 'ExportAllDeclaration', message: 'Name what is exported: `export *` hides who owns a name.' },
  { selector: 'TSEnumDeclaration', message: 'Use a literal array and the union made from it.' },
];
const DEFAULT_EXPORT = { selector: 'ExportDefaultDeclaration', message: 'Use a named export.' };
const ENVIRONMENT = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Only apps/shared/config/env.ts reads the environment. Pass plain values on.',
};
const ENVIRONMENT_IMPORT = { name: 'node:process', importNames: ['env'], message: ENVIRONMENT.message };
/** Every way to read the time or to set a timer. */
const timeForms = (message) =>
  [
    "NewExpression[callee.name='Date'][arguments.length=0]",
    "CallExpression[callee.name='Date']",
    "MemberExpression[object.name='Date'][property.name='now']",
    "MemberExpression[object.name='performance'][property.name='now']",
    "MemberExpression[object.name='process'][property.name='hrtime']",
    "MemberExpression[object.name='AbortSignal'][property.name='timeout']",
    'CallExpression[callee.name=/^set(Timeout|Interval)$/]',
    "CallExpression[callee.object.name='globalThis'][callee.property.name=/^set(Timeout|Interval)$/]",
  ].map((selector) => ({ selector, message }));
const ANY_SIGNAL = {
  selector: "MemberExpression[object.name='AbortSignal'][property.name='any']",
  message: 'Use timeLimit (apps/shared/clock.ts): Node.js 20 drops a timeout within AbortSignal.any.',
};
const PORT_OF_TIME =
  'Take the time from the Clock that main.ts gives (apps/shared/clock.ts), so that a test can move it.';
const TIME = timeForms(PORT_OF_TIME);
const RAW_TIMERS = ['node:timers', 'timers', 'node:timers/promises', 'timers/promises'].map((name) => ({
  name,
  // A turn of the event loop does not depend on time.
  allowImportNames: ['setImmediate'],
  message: PORT_OF_TIME,
}));
const CLOCK_AND_CHANCE = [
  ...timeForms('The domain has no clock: take the instant as an argument.'),
  {
    selector: "MemberExpression[object.name='Math'][property.name='random']",
    message: 'The domain has no randomness: take the value as an argument.',
  },
];

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'coverage/', 'prisma/generated/', '.countersign/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // An interface may return a promise although an implementation has nothing to await.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    rules: {
      eqeqeq: ['error', 'always'],
      'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 50, skipBlankLines: false, skipComments: false }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT],
    },
  },
  {
    files: PRODUCT,
    rules: {
      'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT, ENVIRONMENT],
      'no-restricted-imports': ['error', { paths: [ENVIRONMENT_IMPORT] }],
    },
  },
  {
    files: TIMED,
    rules: {
      'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ANY_SIGNAL, ...TIME],
      'no-restricted-imports': ['error', { paths: [ENVIRONMENT_IMPORT, ...RAW_TIMERS] }],
    },
  },
  {
    files: ['apps/shared/clock.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ANY_SIGNAL],
      'no-restricted-imports': ['error', { paths: [ENVIRONMENT_IMPORT] }],
    },
  },
  {
    files: ['apps/shared/config/env.ts'],
    rules: { 'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT, ...TIME] },
  },
  {
    files: DOMAIN,
    rules: { 'no-restricted-syntax': ['error', ...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ...CLOCK_AND_CHANCE] },
  },
  { files: ['apps/cli/**'], rules: { 'no-console': 'off' } },
  {
    files: ['test/**/*.{ts,tsx}'],
    rules: {
      'max-lines-per-function': 'off',
      // Tests assert answers from a wire member by member. To type them first would test the types.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // Fakes are objects of closures, which tests destructure freely.
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  // Scripts that run before anything is installed: plain JavaScript, Node's globals, lines for a person to read.
  {
    files: ['**/*.{mjs,cjs}'],
    languageOptions: {
      globals: {
        Buffer: false,
        clearTimeout: false,
        console: false,
        fetch: false,
        performance: false,
        process: false,
        setTimeout: false,
        URL: false,
      },
    },
    rules: { 'no-console': 'off' },
  },
  // Runs in browsers.
  {
    files: ['apps/shared/pages/script.js'],
    languageOptions: {
      globals: {
        IntersectionObserver: false,
        addEventListener: false,
        clearTimeout: false,
        document: false,
        location: false,
        reportError: false,
        sessionStorage: false,
        setInterval: false,
        setTimeout: false,
      },
    },
  },
  // Configuration files: their tools want a default export.
  { files: ['*.config.{mjs,ts}', '.*.mjs'], rules: { 'no-restricted-syntax': ['error', ...FORMS] } },
  // jest loads these by their default export.
  {
    files: ['test/support/jest/global-*.{ts,mjs}'],
    rules: { 'no-restricted-syntax': ['error', ...FORMS] },
  },
);
