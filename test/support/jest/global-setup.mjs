/** jest requires this file, and Node's hooks apply only to imported files. */
export default async () => (await import('./global-setup.ts')).default();
