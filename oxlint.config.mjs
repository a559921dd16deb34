// Lint rules: those that find mistakes, with types where they need them, and the forms that this repository refuses.
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

/** The form rule comes from ESLint itself, because Oxlint has none that takes selectors. */
const refuse = (...forms) => ({ 'eslint-js/no-restricted-syntax': ['error', ...forms] });
const refuseImports = (...paths) => ({ 'no-restricted-imports': ['error', { paths }] });

export default {
  plugins: ['eslint', 'typescript', 'oxc'],
  jsPlugins: [{ name: 'eslint-js', specifier: 'oxlint-plugin-eslint' }],
  categories: { correctness: 'error' },
  ignorePatterns: ['dist/', 'coverage/', 'prisma/generated/', '.countersign/'],
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  rules: {
    eqeqeq: ['error', 'always'],
    'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
    'max-lines-per-function': ['error', { max: 50, skipBlankLines: false, skipComments: false }],
    'max-params': ['error', { max: 4 }],
    'no-case-declarations': 'error',
    'no-console': 'error',
    'no-empty': 'error',
    'no-fallthrough': 'error',
    'no-prototype-builtins': 'error',
    'no-redeclare': 'error',
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'no-useless-assignment': 'error',
    'preserve-caught-error': 'error',
    // Code points are meant where text is taken apart.
    'typescript/no-misused-spread': 'off',
    // Most lists here hold strings, for which the order by code units is the right one.
    'typescript/require-array-sort-compare': 'off',
    ...refuse(...FORMS, DEFAULT_EXPORT),
  },
  overrides: [
    {
      files: ['**/*.{ts,tsx}'],
      rules: {
        'prefer-const': 'error',
        'no-var': 'error',
        'typescript/ban-ts-comment': 'error',
        'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
        'typescript/no-empty-object-type': 'error',
        'typescript/no-explicit-any': 'error',
        'typescript/no-misused-promises': 'error',
        'typescript/no-namespace': 'error',
        'typescript/no-require-imports': 'error',
        'typescript/no-unnecessary-type-assertion': 'error',
        'typescript/no-unsafe-argument': 'error',
        'typescript/no-unsafe-assignment': 'error',
        'typescript/no-unsafe-call': 'error',
        'typescript/no-unsafe-enum-comparison': 'error',
        'typescript/no-unsafe-function-type': 'error',
        'typescript/no-unsafe-member-access': 'error',
        'typescript/no-unsafe-return': 'error',
        'typescript/only-throw-error': 'error',
        'typescript/prefer-promise-reject-errors': 'error',
        'typescript/restrict-plus-operands': 'error',
        'typescript/switch-exhaustiveness-check': 'error',
      },
    },
    {
      files: PRODUCT,
      rules: { ...refuse(...FORMS, DEFAULT_EXPORT, ENVIRONMENT), ...refuseImports(ENVIRONMENT_IMPORT) },
    },
    {
      files: TIMED,
      rules: {
        ...refuse(...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ANY_SIGNAL, ...TIME),
        ...refuseImports(ENVIRONMENT_IMPORT, ...RAW_TIMERS),
      },
    },
    {
      files: ['apps/shared/clock.ts'],
      rules: {
        ...refuse(...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ANY_SIGNAL),
        ...refuseImports(ENVIRONMENT_IMPORT),
      },
    },
    { files: ['apps/shared/config/env.ts'], rules: refuse(...FORMS, DEFAULT_EXPORT, ...TIME) },
    { files: DOMAIN, rules: refuse(...FORMS, DEFAULT_EXPORT, ENVIRONMENT, ...CLOCK_AND_CHANCE) },
    { files: ['apps/cli/**'], rules: { 'no-console': 'off' } },
    {
      files: ['test/**/*.{ts,tsx}'],
      rules: {
        'max-lines-per-function': 'off',
        // Tests assert answers from a wire member by member. To type them first would test the types.
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
        // A member that is missing is a failed test.
        'no-unsafe-optional-chaining': 'off',
        'typescript/no-useless-default-assignment': 'off',
        // Fakes are objects of closures, which tests destructure freely.
        'typescript/unbound-method': 'off',
      },
    },
    // Scripts that run before anything is installed: plain JavaScript, Node's globals, lines for a person to read.
    {
      files: ['**/*.{mjs,cjs}'],
      env: { node: true },
      rules: { 'no-console': 'off', 'no-undef': 'error', 'typescript/unbound-method': 'off' },
    },
    {
      files: ['apps/shared/pages/script/*.js', 'apps/gateway/card/script.js'],
      env: { browser: true },
      // The script of the pages begins with this library.
      globals: { Idiomorph: 'readonly' },
      rules: { 'no-undef': 'error' },
    },
    // Configuration files: their tools want a default export.
    { files: ['*.config.{mjs,ts}', '.*.mjs'], rules: refuse(...FORMS) },
    // jest loads these by their default export.
    { files: ['test/support/jest/global-*.{ts,mjs}'], rules: refuse(...FORMS) },
  ],
};
