# One image for every deployable; the command says which one runs. It runs nothing as root, and fetches nothing at the start.
ARG NODE_IMAGE=node:20.20.2-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build

# The packages for production, without development packages and without the embedded Postgres (an optional dependency).
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
# The command line's launcher, and the style sheets that pages read beside their sources.
COPY apps ./apps
COPY prisma ./prisma
COPY policies ./policies
USER node
EXPOSE 4100 4101 4102 4103
CMD ["node", "--enable-source-maps", "dist/apps/gateway/main.js"]
