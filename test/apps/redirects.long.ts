import { testRedirects } from './redirects.ts';

testRedirects({ everywhere: true });
